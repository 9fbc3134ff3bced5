# Tables: rows, columns, ranges; and the structure of JSON files.

# One table, with support for quotes and line breaks in quotes: rows, then a line per column.
read -r -d '' table_awk <<'AWK'
function fields(record, out, sep,    n, i, c, quoted, value) {
  if (index(record, "\"") == 0) return split(record, out, sep == "|" ? "[|]" : sep)
  n = 0; value = ""; quoted = 0
  for (i = 1; i <= length(record); i++) {
    c = substr(record, i, 1)
    if (quoted) {
      if (c != "\"") value = value c
      else if (substr(record, i + 1, 1) == "\"") { value = value c; i++ }
      else quoted = 0
    } else if (c == "\"") quoted = 1
    else if (c == sep) { out[++n] = value; value = "" }
    else value = value c
  }
  out[++n] = value
  return n
}
function quotes(text) { return index(text, "\"") ? gsub(/"/, "", text) : 0 }
function clean(text) {
  gsub(/[[:cntrl:]|`]/, " ", text); gsub(/^ +| +$/, "", text)
  return length(text) > 40 ? substr(text, 1, 37) "..." : text
}
function is_number(v) { return v ~ /^[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?$/ }
function is_date(v) { return v ~ /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]/ }
function take(record,    i, v, n) {
  n = fields(record, cell, sep)
  if (!columns) {
    columns = n; heads = 1
    for (i = 1; i <= n; i++) if (is_number(cell[i])) heads = 0
    for (i = 1; i <= n; i++) head[i] = heads && clean(cell[i]) != "" ? clean(cell[i]) : "column " i
    if (heads) return
  }
  rows++
  if (n != columns) ragged++
  for (i = 1; i <= n && i <= columns && i <= 24; i++) {
    v = cell[i]
    if (v ~ /^ | $/) gsub(/^ +| +$/, "", v)
    if (v == "") continue
    filled[i]++
    if (is_number(v)) {
      numbers[i]++
      if (numbers[i] == 1 || v + 0 < low[i] + 0) low[i] = v
      if (numbers[i] == 1 || v + 0 > high[i] + 0) high[i] = v
    } else if (is_date(v)) {
      dates[i]++; v = substr(v, 1, 19)
      if (dates[i] == 1 || v "" < first[i] "") first[i] = v
      if (dates[i] == 1 || v "" > last[i] "") last[i] = v
    }
    if (different[i] <= 500) {
      if (!((i, v) in seen)) v = clean(v)
      if (!((i, v) in seen)) { different[i]++; value[i, different[i]] = v }
      seen[i, v]++
    }
  }
}
{
  sub(/\r$/, "")
  if (NR == 1) {
    sub(/^\357\273\277/, "")
    best = 0; sep = ","
    for (i = 1; i <= 4; i++) {
      c = substr(",;\t|", i, 1); n = split($0, part, c == "|" ? "[|]" : c)
      if (n > best) { best = n; sep = c }
    }
  }
  record = open ? record "\n" $0 : $0
  open = quotes(record) % 2
  if (open && ++joined < 500) next
  if (open) broken = 1
  joined = 0; open = 0
  if (record != "") take(record)
}
END {
  if (record != "" && open) take(record)
  printf("%d\t%d\t%s\t%d\t%d\n", rows, columns, (sep == "\t" ? "tab" : sep), ragged, broken)
  for (i = 1; i <= columns && i <= 24; i++) {
    if (!filled[i]) { kind = "empty"; range = "" }
    else if (numbers[i] == filled[i]) { kind = "number"; range = clean(low[i]) " to " clean(high[i]) }
    else if (dates[i] == filled[i]) { kind = "date"; range = first[i] " to " last[i] }
    else {
      kind = "text"; range = (different[i] > 500 ? "more than 500" : different[i]) " different"
      top = 0
      for (j = 1; j <= different[i] && j <= 500; j++)
        if (seen[i, value[i, j]] > top) { top = seen[i, value[i, j]]; name = value[i, j] }
      if (top > 1) range = range ", most often " name " (" top ")"
    }
    printf "| %s | %s | %d of %d | %s |\n", head[i], kind, filled[i], rows, range
  }
}
AWK

# One JSON file: is it a list or an object, how many entries, which keys.
read -r -d '' json_awk <<'AWK'
{ text = text $0 "\n" }
END {
  kind = ""; depth = 0; quoted = 0; entries = 0; n = 0; word = ""
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    if (quoted) {
      if (c == "\\") { i++; continue }
      if (c != "\"") { word = word c; continue }
      quoted = 0; last = word; continue
    }
    if (c == "\"") { quoted = 1; word = ""; if (depth == 1 && kind == "list") something = 1; continue }
    if (c ~ /[ \t\r\n]/) continue
    if (kind == "") kind = c == "[" ? "list" : c == "{" ? "object" : "value"
    if (depth == 1 && c != "]" && c != "}") something = 1
    if (c == "{" || c == "[") { depth++; if (depth > deepest) deepest = depth }
    else if (c == "}" || c == "]") depth--
    else if (c == "," && depth == 1) entries++
    else if (c == ":" && ((depth == 1 && kind == "object") || (depth == 2 && kind == "list"))) {
      gsub(/[[:cntrl:]|`]/, "?", last)
      if (!(last in key)) { key[last] = 1; if (++n <= 12) keys = keys (n > 1 ? ", " : "") substr(last, 1, 40) }
    }
  }
  if (something) entries++
  if (depth != 0 || quoted) printf "%s that ends too early (depth %d is left open)", kind, depth
  else printf("%s, %d %s, %d level%s deep", kind, entries, (entries == 1 ? "entry" : "entries"), deepest, (deepest == 1 ? "" : "s"))
  if (n) printf(", keys: %s%s", keys, (n > 12 ? " and " (n - 12) " more" : ""))
  printf "\n"
}
AWK

: >"$work/tables"; : >"$work/columns"; : >"$work/json"; : >"$work/left"
looked=0
while IFS= read -r -d '' file; do
  shown "$file"
  if [ $looked -ge 40 ]; then echo x >>"$work/left"; continue; fi
  if [ ! -r "$file" ]; then echo "- \`$name\` may not be read" >>"$work/json"; continue; fi
  if [ ! -s "$file" ]; then echo "- \`$name\` is empty" >>"$work/json"; continue; fi
  if is_binary "$file"; then echo "- \`$name\` is called a table but is binary" >>"$work/json"; continue; fi
  looked=$((looked + 1))
  note= half=
  [ "$(head -c 4194305 "$file" | wc -c)" -le 4194304 ] || note=" in its first 4 MB" half='$d'
  head -c 4194304 "$file" | sed "$half" | awk "$table_awk" >"$work/one"
  IFS=$'\t' read -r rows columns sep ragged broken <"$work/one"
  printf '%s\t%s\t%s\n' "$rows" "$columns" "$name" >>"$work/tables"
  {
    printf '\n### `%s`\n\n%s %s%s, %s %s, separated by `%s`' "$name" "$rows" "$(one_or_more "$rows" row)" \
      "$note" "$columns" "$(one_or_more "$columns" column)" "$sep"
    [ "$ragged" = 0 ] || printf '; %s with another number of fields' "$ragged"
    [ "$broken" = 0 ] || printf '; its quotes do not match, so the rows are a guess'
    [ "$columns" -le 24 ] || printf '; the first 24 columns are'
    printf '\n'
    printf '\n| column | kind | filled | range or values |\n|---|---|---|---|\n'
    tail -n +2 "$work/one"
  } >>"$work/columns"
done < <(find . -type f \( -iname '*.csv' -o -iname '*.tsv' \) -print0 2>/dev/null | sort -z)

while IFS= read -r -d '' file; do
  shown "$file"
  if [ $looked -ge 80 ]; then echo x >>"$work/left"; continue; fi
  [ -r "$file" ] && [ -s "$file" ] || continue
  looked=$((looked + 1))
  case $file in
    *[lL]) what="$(head -c 4194304 "$file" | grep -c .) lines; the first is $(head -n 1 "$file" | head -c 65536 | awk "$json_awk")" ;;
    *) what=$(head -c 524288 "$file" | awk "$json_awk") ;;
  esac
  [ "$(head -c 524289 "$file" | wc -c)" -le 524288 ] || what="$what (first 512 KB looked at)"
  echo "- \`$name\`: $what" >>"$work/json"
done < <(find . -type f \( -iname '*.json' -o -iname '*.jsonl' -o -iname '*.ndjson' \) -print0 2>/dev/null | sort -z)

tables=$(wc -l <"$work/tables" | tr -d ' ')
rows=$(awk -F '\t' '{ n += $1 } END { printf "%.0f", n }' "$work/tables")
most=$(sort -k1,1rn "$work/tables" | head -n 1)
if [ "$tables" = 0 ]; then
  short="there are no tables (CSV, TSV) to read"
else
  short="$tables $(one_or_more "$tables" table) with $rows $(one_or_more "$rows" row) in all; the longest is \`$(cut -f 3- <<<"$most")\` with $(cut -f 1 <<<"$most") rows and $(cut -f 2 <<<"$most") columns"
fi
jsons=$(grep -c '`: ' "$work/json")
[ "$jsons" = 0 ] || short+="; $jsons JSON $(one_or_more "$jsons" file)"

{
  printf '# Tables and data of %s\n\nIn short: %s.\n' "$title" "$short"
  at_most 16000 <"$work/columns"
  if [ -s "$work/json" ]; then printf '\n## JSON and others\n\n'; at_most 4000 <"$work/json"; fi
  if [ -s "$work/left" ]; then printf '\nNot looked at for their number: %d more files.\n' "$(wc -l <"$work/left")"; fi
} >"$scratch/findings.md"

echo "SHORT $short"
if [ "$tables" -gt 0 ]; then
  echo "TELL texts: The longest table is \`$(cut -f 3- <<<"$most")\` ($(cut -f 1 <<<"$most") rows). Which text speaks of it?"
fi
