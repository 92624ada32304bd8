import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AccError } from '@acc/contract';
import { requireToolchain } from '@acc/native/install-tools';
import type { SetupProgress } from '../progress.js';
import { cachedBinding, provideBinding } from './binding.js';
import { describeCuda } from './cuda.js';
import { linkTfjsNode, unlinkTfjsNode } from './link.js';
import {
  BINDING,
  inspectTfjsNode,
  readNote,
  requireTfjsNode,
  tfjsNodeName,
  type TfjsNodePackage,
} from './package.js';
import { describePlan } from './plan.js';
import {
  cachedTensorflow,
  provideTensorflow,
  type TensorflowInstall,
  type TensorflowRequest,
} from './tensorflow.js';
import { verifyTfjsNode } from './verify.js';
import { DEFAULT_TENSORFLOW, TESTED_VERSIONS } from './wheels.js';

export interface TfjsNodeOptions {
  /** Sets up `@tensorflow/tfjs-node-gpu` with a TensorFlow for CUDA. */
  readonly gpu?: boolean;
  /** The version of TensorFlow. Default {@link DEFAULT_TENSORFLOW}. */
  readonly tensorflow?: string;
  /** A wheel of TensorFlow on this machine. Default: pip fetches one. */
  readonly from?: string;
  /** The SHA-256 of the wheel, in hexadecimal. */
  readonly sha256?: string;
  /** Does not use the network. */
  readonly offline?: boolean;
  /** Only says what would be done. */
  readonly dryRun?: boolean;
  /** Puts the package back to the state before the setup. */
  readonly undo?: boolean;
}

/**
 * Gives the tfjs-node of the project in `cwd` a current TensorFlow: its libraries come from a Python
 * wheel into the cache, tfjs-node's own binding is compiled against them, and both are linked into
 * the package. Steps that are done are not repeated. At the end another process multiplies matrices
 * and takes a training step.
 *
 * @throws AccError `ACC_TFJS_NODE_MISSING`, `ACC_TFJS_NODE_UNSUPPORTED`, `ACC_TFJS_NODE_NOT_WRITABLE`,
 * `ACC_TFJS_NODE_BUILD_FAILED`, `ACC_TFJS_NODE_BROKEN`, `ACC_PLATFORM_UNSUPPORTED`,
 * `ACC_TOOLCHAIN_MISSING`, `ACC_SETUP_CONFLICT`, and errors of `provideTensorflow`.
 */
export async function setupTfjsNode(
  options: TfjsNodeOptions,
  cwd: string,
  progress: SetupProgress,
): Promise<void> {
  const found = requireTfjsNode(cwd, tfjsNodeName(options.gpu ?? false));
  if (options.undo) return undo(found, options, progress);
  requirePlatform();
  const request = requestOf(options, cwd);
  if (options.dryRun) return describePlan(found, request, progress);
  progress.step(`${found.name} ${found.version}, ${found.path}`);
  const before = cachedTensorflow(request);
  // Told before a download, not after it.
  if (!before || !cachedBinding(found, before)) requireToolchain({ offline: request.offline });
  const tensorflow = await provideTensorflow(request, progress);
  progress.done(`TensorFlow ${tensorflow.version} (${tensorflow.variant}), ${tensorflow.root}`);
  const binding = await provideBinding(found, tensorflow, { offline: request.offline, progress });
  progress.done(`binding, ${binding}`);
  const state = inspectTfjsNode(found);
  const isLinked = state.problem === undefined && isLinkedTo(found, tensorflow, binding);
  if (!isLinked) linkTfjsNode(found, tensorflow, binding);
  progress.done(`${isLinked ? 'was linked' : 'linked'} into ${found.path}`);
  await verify(found, tensorflow, progress);
}

async function verify(
  found: TfjsNodePackage,
  tensorflow: TensorflowInstall,
  progress: SetupProgress,
): Promise<void> {
  const { tensorflow: version, usesGpu } = await verifyTfjsNode(found);
  progress.done(
    `verified in a process of its own: TensorFlow ${version} multiplies matrices and takes a training step${usesGpu ? ' on a GPU' : ''}`,
  );
  if (tensorflow.variant === 'cpu' || usesGpu) return;
  progress.note('TensorFlow found no usable GPU, and computes on the CPU');
  for (const line of describeCuda(tensorflow.cuda, tensorflow.root)) progress.note(line);
}

function undo(found: TfjsNodePackage, options: TfjsNodeOptions, progress: SetupProgress): void {
  const { tensorflow, from, sha256, offline, dryRun } = options;
  if ([tensorflow, from, sha256, offline, dryRun].some((given) => given !== undefined && given !== false)) {
    throw new AccError('ACC_SETUP_CONFLICT', '--undo was given with options of the setup.', {
      help: 'npx acc setup tfjs-node --undo, with --gpu for tfjs-node-gpu',
    });
  }
  if (!unlinkTfjsNode(found)) return progress.done(`nothing to undo in ${found.path}`);
  const { problem } = inspectTfjsNode(found);
  progress.done(`undone in ${found.path}; the cache keeps TensorFlow`);
  if (problem !== undefined) progress.note(`as before the setup, ${problem}`);
}

function requestOf(options: TfjsNodeOptions, cwd: string): TensorflowRequest {
  const { tensorflow: version = DEFAULT_TENSORFLOW, from, sha256, offline = false, gpu } = options;
  if (!/^\d+\.\d+\.\d+(?:\.?\w+)?$/.test(version)) {
    throw new AccError('ACC_BAD_OPTION', `--tensorflow must be a version, not '${version}'.`, {
      help: `Versions that are known to work: ${TESTED_VERSIONS.join(', ')}`,
      details: { version },
    });
  }
  return { version, variant: gpu ? 'cuda' : 'cpu', from: from && resolve(cwd, from), sha256, offline };
}

/** Whether the package has this binding and links to this TensorFlow. */
function isLinkedTo({ path }: TfjsNodePackage, { root }: TensorflowInstall, binding: string): boolean {
  return readNote(path)?.cache === root && readFileSync(join(path, BINDING)).equals(readFileSync(binding));
}

function requirePlatform(): void {
  const platform = `${process.platform}-${process.arch}`;
  if (platform === 'linux-x64') return;
  throw new AccError(
    'ACC_PLATFORM_UNSUPPORTED',
    `acc setup tfjs-node supports linux-x64, and this is ${platform}.`,
    { help: "Install tfjs-node without --ignore-scripts, or train with engine: 'acc' (npx acc setup)." },
  );
}
