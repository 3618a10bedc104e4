#!/usr/bin/env bash
# text_size.sh PROGRAM KB: fails if the program's text, which includes what never changes and what unwinds, is above KB.
set -euo pipefail
text=$(size "$1" | awk 'NR == 2 {print $1}')
echo "$1: $text bytes of text, at most ${2}000"
((text <= $2 * 1000))
