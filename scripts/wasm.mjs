/**
 * `node scripts/wasm.mjs`: compiles the AssemblyScript of packages, and writes the result beside it as a
 * TypeScript module, with the hash of the source. A test compares the hashes. The compiler is
 * fetched by npx, because only a change of these sources needs it.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMPILER = 'assemblyscript@0.28.20';
const SOURCES = ['packages/formats/src/images/pixel-kernels'];

for (const source of SOURCES) {
  const folder = mkdtempSync(join(tmpdir(), 'acc-wasm-'));
  try {
    copyFileSync(`${source}.as`, join(folder, 'kernels.ts'));
    const options = ['--runtime', 'stub', '--noAssert', '-O3', '--enable', 'simd', '-o', 'kernels.wasm'];
    execFileSync('npx', ['--yes', '--package', COMPILER, 'asc', 'kernels.ts', ...options], {
      cwd: folder,
      stdio: 'inherit',
    });
    const hash = createHash('sha256')
      .update(readFileSync(`${source}.as`))
      .digest('hex');
    const code = readFileSync(join(folder, 'kernels.wasm')).toString('base64');
    const lines = code.match(/.{1,100}/g).map((line) => `  '${line}',`);
    writeFileSync(
      `${source}-wasm.ts`,
      `// Compiled from the .as file beside this one by scripts/wasm.mjs.\n\nexport const SOURCE_SHA256 = '${hash}';\n\n` +
        `export const CODE_BASE64 = [\n${lines.join('\n')}\n].join('');\n`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
