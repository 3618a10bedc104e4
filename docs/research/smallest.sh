# shellcheck shell=bash
# For the scripts of this folder, which source it: with COPPICE_SMALLEST=1 each takes its whole path once, on few rows and
# repetitions, in seconds. Figures that come out so say nothing; no file of the repository is written.
#
#   usual_or USUAL SMALLEST    prints the first, or with COPPICE_SMALLEST=1 the second
usual_or() { if [[ ${COPPICE_SMALLEST:-} == 1 ]]; then echo "$2"; else echo "$1"; fi; }
