// Looks at every package as npm would publish it: publint for its manifest, attw for its types. Needs `npm run build` and `tsc -b`.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');
const tool = (name) => join(root, 'node_modules', '.bin', name);
const run = promisify(execFile);

/** @returns {Promise<string>} what is wrong; '' when nothing is. */
async function problemsOf(command, args) {
  try {
    await run(tool(command), args, { cwd: root });
    return '';
  } catch ({ stdout, stderr }) {
    return `${stdout}${stderr}`.trim() || `${command} failed`;
  }
}

let failed = 0;
const names = readdirSync(join(root, 'packages'));
for (const name of names) {
  const folder = join('packages', name);
  const isBuilt = existsSync(join(root, folder, 'dist', 'index.d.ts'));
  const problems = isBuilt
    ? // esm-only: Node from 20.19 takes these from `require` too.
      await Promise.all([
        problemsOf('publint', [folder, '--strict']),
        problemsOf('attw', ['--pack', folder, '--profile', 'esm-only']),
      ])
    : ['has no dist/index.d.ts: run `npm run build && npx tsc -b`'];
  const text = problems.filter(Boolean).join('\n');
  if (text) failed++;
  console.log(text ? `✗ ${folder}\n${text}` : `✓ ${folder}`);
}
console.log(`${names.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 || names.length === 0 ? 1 : 0;
