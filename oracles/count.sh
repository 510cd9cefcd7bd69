#!/bin/busybox sh
# Counts what nandsim's chip does, by kernel probes; see README.md. This is a file of the guest.
#   count begin       sets the counters to zero
#   count end         prints them, one `NAME COUNT` a line
