# Shared by the three surveys: the folder, a work directory, names that cannot break a line.
export LC_ALL=C
folder=${AGIRAPH_INPUT:?no folder is named}
folder=${folder%/}
scratch=$PWD
work=$scratch/.work
rm -rf "$work" && mkdir "$work" || exit 1
trap 'rm -rf "$work"' EXIT

shown() { # sets $name to a name without characters that could break a line, a table or a code span
  name=${1#./}
  name=${name//[[:cntrl:]]/?}
  name=${name//[\`|]/?}
  [ ${#name} -le 150 ] || name=${name:0:150}...
}

is_binary() { # whether a NUL byte is among the first 4096
  [ "$(head -c 4096 "$1" 2>/dev/null | tr -dc '\000' | wc -c)" -gt 0 ]
}

count() { tr -dc '\000' | wc -c | tr -d ' '; } # how many NUL-ended names come in

human() { # a number of bytes in readable form
  awk -v b="$1" 'BEGIN {
    split("bytes KB MB GB TB", unit, " "); u = 1
    while (b >= 1000 && u < 5) { b /= 1000; u++ }
    printf(u == 1 ? "%d %s" : "%.1f %s", b, unit[u]) }'
}

at_most() { # the first lines, up to a number of bytes
  awk -v limit="$1" '{ n += length($0) + 1; if (n > limit) { print "\n(cut here for its length)"; exit } print }'
}

in_one_line() { awk '{ printf "%s%s", (NR > 1 ? "; " : ""), $0 }'; }

one_or_more() { [ "$1" = 1 ] && printf '%s' "$2" || printf '%ss' "$2"; }

shown "${folder##*/}"
title=$name
if ! cd -- "$folder/" 2>"$work/error"; then
  echo "SHORT the folder cannot be opened"
  { echo "# $title"; echo; echo "In short: the folder cannot be opened."; } >"$scratch/findings.md"
  exit 0
fi
