#!/usr/bin/env bash
# scripts/lib/nvcc.sh [JOBS [BUILD]]   Compiles each file of kernels/cuda, kernels and host side, for every
#                                      kind of GPU that is to be supported, but for those that BUILD has
#                                      compiled them for; a warning is an error. Nothing is kept.
#
# Prints what for, and counts files. A GPU is not needed. Status 3: there is no nvcc here.
set -uo pipefail
cd "$(dirname "$0")/../.."

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || exit 3
jobs=${1:-$(nproc)}
commands=${2:+$2/compile_commands.json}
started=$SECONDS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A100, H100 and H200, B200, the RTX of the same year; an older toolkit does not know them all.
code=() kinds=() output=-c
for kind in 80 90 100 120; do
	if [ -n "$commands" ] && grep -q "\bsm_$kind\b" "$commands"; then
		output=-fatbin # the build has compiled the host's side, too
	elif "$nvcc" --list-gpu-code | grep -qx "sm_$kind"; then
		kinds+=("sm_$kind")
		code+=(-gencode "arch=compute_$kind,code=sm_$kind")
	else
		echo "SKIPPED sm_$kind: $("$nvcc" --version | tail -n 1) does not know it"
	fi
done
if [ ${#kinds[@]} = 0 ]; then
	[ "$output" = -fatbin ]
	exit
fi

# As kernels/cuda/CMakeLists.txt.
flags=(-std=c++17 --fmad=false -I. --Werror=all-warnings
	-Xcompiler=-Wall,-Wextra,-Wshadow,-Wconversion,-Werror)
host=(-std=gnu11 -I. -isystem "$(dirname "$nvcc")/../include" -Wall -Wextra -Werror -Wshadow
	-Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla)

compile() { # FILE
	local log
	log=$work/$(basename "$1").log
	case $1 in
	*.cu) "$nvcc" "${flags[@]}" "${code[@]}" "$output" "$1" -o "$work/$(basename "$1").o" ;;
	*.c) "${CC:-cc}" "${host[@]}" -c "$1" -o "$work/$(basename "$1").o" ;;
	esac >"$log" 2>&1 && return
	sed "s|^|$1: |" "$log" | head -n 20
	echo "FAILED $1"
	return 1
}

# First seen to fail.
printf '__global__ void k(float *x)\n{\n\tint i = threadIdx.x;\n\n\tx[0] = 1.0f;\n}\n' >"$work/bad.cu"
if compile "$work/bad.cu" >/dev/null; then
	echo "ERROR: nvcc finds no fault in a variable that nobody uses"
	exit 1
fi

files=(kernels/cuda/*.cu kernels/cuda/*.c)
for file in "${files[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
	compile "$file" &
done
wait

n=${#files[@]} passed=0
for file in "${files[@]}"; do
	[ ! -s "$work/$(basename "$file").o" ] || passed=$((passed + 1))
done
echo "$passed of $n files compiled for ${kinds[*]}"
echo "$passed passed, $((n - passed)) failed in $((SECONDS - started))s"
[ "$n" -gt 10 ] && [ "$passed" = "$n" ]
