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
