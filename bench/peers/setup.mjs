import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const venv = fileURLToPath(new URL('../.venv/', import.meta.url));

/** Torch first and alone, so that its pin decides, not what Accelerate would take. */
const pins = { torch: '2.13.0', accelerate: '1.15.0' };

/**
 * The Python that runs the PyTorch side.
 *
 * @param given One that has torch and Accelerate in whatever version. By default that of `bench/.venv`, which is made
 *   unless it is there with the pinned versions.
 * @returns Its path.
 * @throws Error when Python or a package can't be had; the installer's own words are printed before.
 */
export function ensurePeer(given) {
  if (given !== undefined) {
    if (installedVersions(given)) return given;
    throw new Error(`--python: ${given} has no ${Object.keys(pins).join(' and ')}`);
  }
  const python = `${venv}bin/python`;
  if (isPinned(python)) return python;
  console.error(`Setting up the PyTorch side in ${venv} (once)`);
  rmSync(venv, { recursive: true, force: true });
  const visible = { stdio: ['ignore', 'ignore', 'inherit'] };
  execFileSync('python3', ['-m', 'venv', venv], visible);
  for (const [name, version] of Object.entries(pins)) {
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', `${name}==${version}`], visible);
  }
  if (isPinned(python)) return python;
  throw new Error(`${venv} does not hold the pinned versions. Delete it and run the bench again.`);
}

function isPinned(python) {
  const installed = installedVersions(python);
  // '2.13.0+cpu' is 2.13.0 built for the CPU
  return Object.values(pins).every((version, i) => installed?.[i]?.split('+')[0] === version);
}

/** In the order of `pins`; undefined when the Python or a package is not there. */
function installedVersions(python) {
  const names = JSON.stringify(Object.keys(pins));
  const script = `from importlib.metadata import version; print(*map(version, ${names}))`;
  const { status, stdout } = spawnSync(python, ['-c', script], { encoding: 'utf8' });
  return status === 0 ? stdout.trim().split(' ') : undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensurePeer();
