# For setup/same.sh: the keys that got the field's terms, and the texts beside them.
#
# Keys, as crates/document/src/renamed.rs has them.
s/\(part\|exec\.card\|what_if\|drives\.[a-z0-9-]*\)\.spare\b/\1.over_provisioning/g
s/single_bit_cache/slc_cache/g
s/single_bit_wear/slc_wear/g
s/flash\.single_bit/flash.slc/g
s/endurance\.cycles/endurance.pe_cycles/g
s/errors\.\(program\|retention\|disturb\)\.erases/errors.\1.pe_cycles/g
s/"errors\.erases"/"errors.pe_cycles"/g
s/wear\.limit\b/wear.endurance/g
s/wear\.spares\b/wear.over_provisioning/g
s/what_if\.cache_blocks/what_if.slc_cache_blocks/g
s/mapping\.cells=single-bit/mapping.cells=slc/g
#
# Titles and sources.
s/What the card tells of its health/The health report of the card/
s/"erases that a block is rated for"/"P\/E cycles that a block is rated for"/
s/"blocks bad from the factory"/"factory bad blocks"/
s/"blocks gone bad since"/"grown bad blocks"/
s/"blocks written anew for their age"/"blocks refreshed because their data aged"/
s/"ends of power without a warning"/"unannounced power losses"/
s/"life of single-bit cells"/"life of SLC cells"/
s/a cache of single-bit cells, \([0-9]*\) blocks of the free ones/an SLC cache of \1 free blocks/
s/map of pages, no cache/page map, no SLC cache/
s/map of pages and a single-bit cache, of which/page map and an SLC cache, of which/
s/map of blocks, two open units with a log each/block map, two open units with a log each/
s/the same, logs of single-bit cells/the same, logs in SLC mode/
s/map of blocks, eight logs of single-bit cells that all units share/block map, eight logs in SLC mode that all units share/
s/the single-bit cache, past which writes go that continue beyond 4 MiB/the SLC cache, bypassed by runs of writes beyond 4 MiB/
s/three single-bit logs a unit, and an ordinary one for writes in order/three logs in SLC mode a unit, and an ordinary one for sequential writes/
s/30,000 with one bit a cell, as makers/30,000 in SLC mode, as makers/
s/TLC with a single-bit cache"/TLC with an SLC cache"/
s/8 GB, MLC used with one bit a cell"/8 GB, MLC in SLC mode"/
