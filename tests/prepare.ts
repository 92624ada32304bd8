// Provides what the tests of the named projects need: `tsx tests/prepare.ts <project>…`.
// scripts/queue/prepare.mjs starts it.

const projects = process.argv.slice(2);
const some = (...names: readonly string[]) => names.some((name) => projects.includes(name));

// Beside a test, whose limit counts on, pip would take too long on a busy machine.
if (some('e2e', 'ranks', 'hosts')) {
  const { provideVenvs } = await import('./e2e/trackers/python/venv.js');
  await provideVenvs();
}
if (some('unit', 'e2e', 'ranks')) {
  const { provideTfjsNode } = await import('./e2e/tfjs-node/project.js');
  await provideTfjsNode();
}
if (some('hosts', 'release')) {
  const { default: provideTools } = await import('./hosts/provide-tools.js');
  await provideTools();
}
