# shellcheck shell=sh
# An apt root of our own, for packages of other suites: lists and cache live in a folder below
# out/, nothing is installed, and the machine's own apt state stays as it is. Sourced, not run.

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# The URI of the archive that serves this machine's own suite.
archive() {
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# shellcheck disable=SC2016 # apt fills these fields in
	apt-get indextargets \
		--format '$(REPO_URI)|$(RELEASE)|$(CODENAME)|$(COMPONENT)|$(LABEL)' \
		'Created-By: Packages' |
	awk -F'|' -v c="$codename" '
		($2 == c || $3 == c) && $4 == "main" &&
		($5 == "Debian" || $5 ~ /LABEL/) && !n++ { print $1 }'
}

# apt_root FOLDER TYPE URI SUITE: make one with this source alone, and read its lists.
apt_root() {
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
	echo "$2 [signed-by=$keyring] $3 $4 main" > "$1/sources.list"
	apt_private "$1" update
}

# apt_private FOLDER ARGS...: apt-get, or what APT names, in that root.
apt_private() {
	root_of_apt=$1
	shift
	${APT:-apt-get} -q \
		-o Dir::Etc::SourceList="$root_of_apt/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$root_of_apt/lists" \
		-o Dir::Cache="$root_of_apt/cache" \
		-o APT::Sandbox::User=root \
		-o APT::Get::List-Cleanup=0 "$@"
}
