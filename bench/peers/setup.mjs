import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const venv = fileURLToPath(new URL('../.venv/', import.meta.url));
/** The environment's Python; there once {@link ensurePeer} has returned. */
export const python = `${venv}bin/python`;

/** Torch first and alone, so that its pin decides, not what Accelerate would take. */
const pins = { torch: '2.13.0', accelerate: '1.15.0' };

/**
 * Makes the peer's Python environment in `bench/.venv` unless it is there with the pinned versions.
 *
 * @throws Error when Python or a package can't be had; the installer's own words are printed before.
 */
export function ensurePeer() {
  if (isComplete()) return;
  console.error(`Setting up the PyTorch side in ${venv} (once)`);
  rmSync(venv, { recursive: true, force: true });
  const visible = { stdio: ['ignore', 'ignore', 'inherit'] };
  execFileSync('python3', ['-m', 'venv', venv], visible);
  for (const [name, version] of Object.entries(pins)) {
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', `${name}==${version}`], visible);
  }
  if (!isComplete()) {
    throw new Error(`${venv} does not hold the pinned versions. Delete it and run the bench again.`);
  }
}

function isComplete() {
  const names = Object.keys(pins);
  const script = `from importlib.metadata import version; print(*map(version, ${JSON.stringify(names)}))`;
  const { status, stdout } = spawnSync(python, ['-c', script], { encoding: 'utf8' });
  if (status !== 0) return false;
  const installed = stdout.trim().split(' ');
  // '2.13.0+cpu' is 2.13.0 built for the CPU
  return names.every((name, i) => installed[i]?.split('+')[0] === pins[name]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensurePeer();
