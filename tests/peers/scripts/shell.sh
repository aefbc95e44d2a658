#!/bin/sh
# usage: shell.sh --n N --size SIZE
while [ $# -gt 0 ]; do
	case $1 in
	--n=*) n=${1#*=} ;;
	--size=*) size=${1#*=} ;;
	esac
	shift
done
for step in 1 2 3; do
	awk -v n="$n" -v s="$size" -v i="$step" 'BEGIN { printf "step %d cost=%.3f\n", i, (n - 4) ^ 2 + s / i }'
done
