// Puts a .br and a .gz beside each built file that gets smaller by it: `node compress.mjs FOLDER`.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const PACKABLE = /\.(js|css|json|svg|txt|wasm|webmanifest)$/;
const LEAST_BYTES = 1024;

for (const entry of readdirSync(process.argv[2], { recursive: true, withFileTypes: true })) {
  const file = join(entry.parentPath, entry.name);
  if (!entry.isFile() || !PACKABLE.test(entry.name)) continue;
  const bytes = readFileSync(file);
  if (bytes.length < LEAST_BYTES) continue;
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
}
