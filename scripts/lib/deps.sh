# Sourced: installs the Debian and Ubuntu packages that are missing, and says so in one line.
#
#   deps build      what the programs need
#   deps check      the same and what scripts/check needs
#   deps numpy      Python with numpy
#   deps wheel      what scripts/wheel needs
#   deps gpu        what scripts/gpu-check needs
#
# Quiet when nothing is missing. apt-get's own output is kept in a file; its end is shown on failure.
# SW_DEPS=skip in the environment leaves the machine alone (the build then says what it misses).

deps_build="gcc libc6-dev cmake ninja-build pkg-config libuv1-dev libsqlite3-dev libcjson-dev
	libopenblas-dev liblapacke-dev libnlopt-dev libsmartcols-dev libncurses-dev libyaml-dev
	libxxhash-dev libssl-dev libmicrohttpd-dev zlib1g-dev python3"
# One version of the formatter and of the linter: each has its own mind. Both systems carry 14;
# where apt has it no longer, scripts/check skips the two and counts that.
deps_numpy="python3 python3-numpy"
deps_gpu="g++ check"
deps_wheel="python3-venv"
deps_check="g++ check python3-venv python3-pytest python3-pytest-xdist python3-jsonschema clang clang-format-14 clang-tidy-14 netcat-openbsd tmux
	man-db zsh fish openssh-client openssh-server slurm-wlm munge chromium chromium-driver python3-selenium"

# deps_missing NAME...: those that are not installed.
deps_missing() {
	local name
	for name in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null)" = "ii " ] ||
			printf '%s ' "$name"
	done
}

# deps_known NAME...: those that apt can install.
deps_known() {
	local name
	for name in "$@"; do
		if [ -n "$(apt-cache show "$name" 2>/dev/null)" ]; then
			printf '%s ' "$name"
		else
			case $name in
			*-14 | slurm-wlm | munge | chromium* | python3-selenium) ;; # what needs them is skipped
			*) printf '%s ' "$name" ;; # apt-get shall say that it is not there
			esac
		fi
	done
}

# The sanitizers' runtime of the default clang has its version in the package's name; which one it
# is, apt knows. Prints nothing when clang is there and brings it along.
deps_clang_rt() {
	local major
	major=$(apt-cache depends clang 2>/dev/null | sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' |
		head -n 1)
	[ -z "$major" ] || printf 'libclang-rt-%s-dev' "$major"
}

# deps_apt LOG ARGS...: apt-get as root, without questions.
deps_apt() {
	local log=$1 as_root=()
	shift
	[ "$(id -u)" = 0 ] || as_root=(sudo)
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null
}

deps() {
	local want=$deps_build missing rt log
	[ "${SW_DEPS:-}" != skip ] || return 0
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		echo "not a Debian or Ubuntu system: install by hand what cmake/deps.cmake names" >&2
		return 0
	fi
	[ "$1" != check ] || want="$want $deps_check"
	[ "$1" != numpy ] || want=$deps_numpy
	[ "$1" != gpu ] || want="$want $deps_gpu"
	[ "$1" != wheel ] || want="$want $deps_wheel"
	# shellcheck disable=SC2086 # a list of words
	missing=$(deps_missing $want)
	if [ "$1" = check ] && [ -z "$missing" ]; then
		rt=$(deps_clang_rt)
		[ -z "$rt" ] || missing=$(deps_missing "$rt")
	fi
	missing=${missing% }
	[ -n "$missing" ] || return 0

	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		echo "missing, and neither root nor sudo to install them: $missing" >&2
		return 1
	fi
	log=$(mktemp)
	if ! deps_apt "$log" update; then
		echo "missing: $missing; apt-get update failed:" >&2
		tail -n 20 "$log" >&2
		rm -f "$log"
		return 1
	fi
	if [ "$1" = check ]; then
		rt=$(deps_clang_rt) # known only now that apt has its lists
		case " $missing " in
		*" $rt "*) ;;
		*) missing="$missing${rt:+ $(deps_missing "$rt")}" ;;
		esac
	fi
	# shellcheck disable=SC2086 # a list of words
	missing=$(deps_known $missing)
	missing=${missing% }
	if [ -z "$missing" ]; then
		rm -f "$log"
		return 0
	fi
	echo "installing: $missing"
	# shellcheck disable=SC2086 # a list of words
	if ! deps_apt "$log" install --no-install-recommends $missing; then
		echo "apt-get install failed:" >&2
		tail -n 20 "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}
