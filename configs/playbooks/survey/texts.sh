# Texts: titles, headings, words; errors in logs; files that they mention.

read -r -d '' text_awk <<'AWK'
function clean(text) {
  gsub(/[[:cntrl:]`|]/, " ", text); gsub(/^[# ]+| +$/, "", text)
  return length(text) > 70 ? substr(text, 1, 67) "..." : text
}
{ sub(/\r$/, ""); words += NF }
!opening && clean($0) != "" { opening = clean($0) }
/^(```|~~~)/ { fenced = !fenced }
!fenced && /^#+ / { n++; if (n <= 8) headings = headings (n > 1 ? "; " : "") clean($0) }
match($0, /[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]([T ][0-9][0-9]:[0-9][0-9](:[0-9][0-9])?)?/) {
  stamp = substr($0, RSTART, RLENGTH)
  if (stamps++ == 0) low = high = stamp
  if (stamp "" < low "") low = stamp
  if (stamp "" > high "") high = stamp
}
match($0, /(^|[^A-Za-z])(FATAL|CRITICAL|ERROR|WARNING|WARN|INFO|DEBUG)([^A-Za-z]|$)/) {
  level = substr($0, RSTART, RLENGTH); gsub(/[^A-Z]/, "", level); levels[level]++; marked++
  if ((level == "ERROR" || level == "FATAL" || level == "CRITICAL") && trouble == "") trouble = clean($0)
}
END {
  printf("%d\t%d\n%d line%s, %d word%s", words, levels["ERROR"] + levels["FATAL"] + levels["CRITICAL"],
    NR, (NR == 1 ? "" : "s"), words, (words == 1 ? "" : "s"))
  if (n) printf("; %d heading%s: %s%s", n, (n > 1 ? "s" : ""), headings, (n > 8 ? "; ..." : ""))
  else if (opening != "" && marked <= 2) printf "; begins: %s", opening
  if (stamps > 2 && marked > 2) printf "; dated %s to %s", low, high
  if (marked > 2) {
    printf "; "; split("FATAL CRITICAL ERROR WARNING WARN INFO DEBUG", order, " "); comma = ""
    for (i = 1; i <= 7; i++) if (levels[order[i]]) { printf "%s%d %s", comma, levels[order[i]], order[i]; comma = ", " }
    if (trouble != "") printf "; the first error: %s", trouble
  }
  printf "\n"
}
AWK

# The names of all files, to find where texts mention them.
find . -type f 2>/dev/null | sed 's/^.*\///' | grep -E '^[[:print:]]*[.][A-Za-z0-9]+$' |
  awk 'length($0) >= 5' | sort -u | head -n 2000 >"$work/names"

: >"$work/texts"; : >"$work/mentions"; : >"$work/left"
looked=0 words=0 errors=0
while IFS= read -r -d '' file; do
  shown "$file"
  if [ $looked -ge 60 ]; then echo x >>"$work/left"; continue; fi
  if [ ! -r "$file" ]; then echo "- \`$name\` may not be read" >>"$work/texts"; continue; fi
  if [ ! -s "$file" ]; then echo "- \`$name\` is empty" >>"$work/texts"; continue; fi
  if is_binary "$file"; then echo "- \`$name\` is called a text but is binary" >>"$work/texts"; continue; fi
  looked=$((looked + 1))
  head -c 4194304 "$file" | awk "$text_awk" >"$work/one"
  IFS=$'\t' read -r its_words its_errors <"$work/one"
  words=$((words + its_words)) errors=$((errors + its_errors))
  facts=$(tail -n +2 "$work/one")
  [ "$(head -c 4194305 "$file" | wc -c)" -le 4194304 ] || facts="$facts (first 4 MB looked at)"
  echo "- \`$name\`: $facts" >>"$work/texts"
  [ -s "$work/names" ] || continue
  head -c 4194304 "$file" | grep -oFf "$work/names" 2>/dev/null | sort | uniq -c | sort -rn | head -n 5 |
    while read -r times what; do
      [ "$what" = "${file##*/}" ] || echo "- \`$name\` speaks of \`$what\` ($times $(one_or_more "$times" time))" >>"$work/mentions"
    done
done < <(find . -type f \( -iname '*.md' -o -iname '*.txt' -o -iname '*.rst' -o -iname '*.log' -o -iname '*.htm' -o -iname '*.html' \) -print0 2>/dev/null | sort -z)

mentions=$(wc -l <"$work/mentions" | tr -d ' ')
if [ $looked = 0 ]; then
  short="there are no texts to read"
else
  short="$looked $(one_or_more "$looked" text) with $words $(one_or_more "$words" word) in all; $mentions $(one_or_more "$mentions" time) one speaks of another file"
  [ "$errors" = 0 ] || short+="; logs report $errors $(one_or_more "$errors" error)"
fi

{
  printf '# Texts and logs of %s\n\nIn short: %s.\n' "$title" "$short"
  if [ -s "$work/texts" ]; then printf '\n## Texts\n\n'; at_most 14000 <"$work/texts"; fi
  if [ "$mentions" -gt 0 ]; then printf '\n## Who speaks of whom\n\n'; head -n 30 "$work/mentions"; fi
  if [ -s "$work/left" ]; then printf '\nNot looked at for their number: %d more files.\n' "$(wc -l <"$work/left")"; fi
} >"$scratch/findings.md"

echo "SHORT $short"
if [ "$mentions" -gt 0 ]; then
  echo "TELL tables: From the texts: $(head -n 3 "$work/mentions" | sed 's/^- //' | in_one_line)"
fi
