import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AccError } from '@acc/contract';
import { runPip } from '@acc/native/install-tools';
import type { SetupProgress } from '../progress.js';
import { cachedBinding } from './binding.js';
import { describeCuda } from './cuda.js';
import { inspectTfjsNode, type TfjsNodePackage } from './package.js';
import { cachedTensorflow, tensorflowFolder, type TensorflowRequest } from './tensorflow.js';
import { cudaNeeds, PIP_SELECTION, publishedSha256, wheelRequest, type CudaNeeds } from './wheels.js';

/** Says what the setup would do. Asks pip's index for the wheel, but fetches none. */
export async function describePlan(
  found: TfjsNodePackage,
  request: TensorflowRequest,
  progress: SetupProgress,
): Promise<void> {
  const { problem } = inspectTfjsNode(found);
  progress.step(
    `${found.name} ${found.version}, ${found.path}: ${problem ?? 'its TensorFlow can be loaded'}`,
  );
  const root = tensorflowFolder(request);
  const cached = request.from === undefined ? cachedTensorflow(request) : undefined;
  const title = `TensorFlow ${request.version} (${request.variant})`;
  let cuda = cached?.cuda;
  if (cached) progress.step(`${title}: in the cache, ${root}`);
  else if (request.from !== undefined) progress.step(`${title}: from ${request.from} into ${root}`);
  else {
    const wheel = await resolveWheel(request);
    cuda = wheel.cuda;
    progress.step(`${title}: pip would fetch ${wheel.fileName} into ${root}`);
    progress.step(`its sha256 in pip's index: ${wheel.sha256}, ${judge(wheel.sha256, request)}`);
  }
  const hasBinding = cached && cachedBinding(found, cached);
  progress.step(`binding: ${hasBinding ? 'in the cache' : 'would be compiled'}`);
  if (request.variant === 'cuda') for (const line of describeCuda(cuda, root)) progress.step(line);
  progress.done('nothing was changed');
}

function judge(sha256: string, { variant, version }: TensorflowRequest): string {
  const known = publishedSha256(variant, version);
  if (known === undefined) return 'which this release does not know';
  return known === sha256 ? 'as published' : `but ${known} was published`;
}

interface ResolvedWheel {
  readonly fileName: string;
  readonly sha256: string;
  readonly cuda: CudaNeeds | undefined;
}

interface PipReport {
  readonly install: readonly {
    readonly download_info: {
      readonly url: string;
      readonly archive_info: { readonly hashes: { readonly sha256: string } };
    };
    readonly metadata: { readonly requires_dist?: readonly string[] };
  }[];
}

/** @throws AccError `ACC_DOWNLOAD_UNREACHABLE`. */
async function resolveWheel({ variant, version, offline }: TensorflowRequest): Promise<ResolvedWheel> {
  const { requirement, help } = wheelRequest(variant, version, offline);
  const folder = mkdtempSync(join(tmpdir(), 'acc-plan-'));
  try {
    const report = join(folder, 'report.json');
    const options = ['--dry-run', '--no-deps', '--only-binary=:all:', ...(offline ? ['--no-index'] : [])];
    const target = ['--target', join(folder, 'target'), '--report', report];
    const { ok, output } = await runPip(['install', ...options, ...PIP_SELECTION, ...target, requirement]);
    if (!ok) {
      const reason = output.trim().split('\n').at(-1);
      throw new AccError('ACC_DOWNLOAD_UNREACHABLE', `pip install --dry-run ${requirement}: ${reason}`, {
        help,
        details: { output },
      });
    }
    const [wheel] = (JSON.parse(readFileSync(report, 'utf8')) as PipReport).install;
    const { url, archive_info: archive } = wheel!.download_info;
    const requires = (wheel!.metadata.requires_dist ?? []).map((line) => `Requires-Dist: ${line}`);
    return {
      fileName: decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? url),
      sha256: archive.hashes.sha256,
      cuda: cudaNeeds(requires.join('\n')),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
