import { util, type KernelConfig, type KernelFunc, type TensorInfo } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { AccBackend } from '../backend.js';
import { runOnCpu } from '../cpu-fallback.js';
import { hasFraction, type Attrs } from './numbers.js';
import { ODD, type Inputs } from './rules.js';

/**
 * Wraps a kernel so that odd arguments, such as a fractional stride or an axis that does not exist,
 * give tfjs's result or error: its cpu kernel runs. Checks of ordinary arguments compare a few
 * integers.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` if tfjs's kernel reads memory that it does not have.
 */
export function asInTfjs(config: KernelConfig): KernelConfig {
  const { kernelName, kernelFunc } = config;
  const isOdd = ODD.get(kernelName);
  if (!isOdd) return config;
  const onCpu = checkedOnCpu(kernelName);
  return {
    ...config,
    kernelFunc: (call) =>
      isOdd(call.inputs as Inputs, (call.attrs ?? {}) as Attrs) ? onCpu(call) : kernelFunc(call),
  };
}

/** Runs tfjs's cpu kernel, and refuses results that it does not define. Caller owns the results. */
export function checkedOnCpu(kernelName: string): KernelFunc {
  const onCpu = runOnCpu(kernelName, (results) => {
    for (const { shape, values } of results) {
      const size = util.sizeFromShape([...shape]);
      const isShape = shape.every((count) => Number.isInteger(count) && count >= 0);
      if (!isShape || values.length < size)
        throw undefinedResult(kernelName, `a result of shape [${shape.join()}]`);
    }
  });
  return (call) => {
    requireSteps(kernelName, (call.attrs ?? {}) as Attrs);
    const results = onCpu(call);
    const backend = call.backend as AccBackend;
    const list = Array.isArray(results) ? results : [results];
    if (readsNothing(kernelName, call, list)) {
      for (const info of list) backend.disposeInfo(info);
      throw undefinedResult(kernelName, 'elements that no input has');
    }
    return results;
  };
}

/**
 * Whether tfjs's kernel read beyond its inputs. JavaScript gives `undefined` there, which is NaN in
 * a result. Windows without pixels give NaN, too, and are defined.
 */
function readsNothing(
  kernelName: string,
  { inputs, attrs: given, backend: active }: Parameters<KernelFunc>[0],
  results: readonly TensorInfo[],
): boolean {
  const attrs = (given ?? {}) as Attrs;
  const backend = active as AccBackend;
  if (!READS_BY_POSITION.test(kernelName)) return false;
  if (kernelName.includes('Pool') && !Object.values(attrs).some(hasFraction)) return false;
  const hasNaN = (info: TensorInfo): boolean =>
    info.dtype === 'float32' && (backend.readSync(info.dataId) as Float32Array).some(Number.isNaN);
  const isFinite = (info: TensorInfo): boolean =>
    (backend.readSync(info.dataId) as Float32Array).every(Number.isFinite);
  return results.some(hasNaN) && Object.values(inputs).every((info) => isFinite(info as TensorInfo));
}

/** tfjs's kernels never end for some images if windows do not move. */
function requireSteps(kernelName: string, { strides, dilations }: Attrs): void {
  if (!READS_BY_POSITION.test(kernelName)) return;
  for (const step of [strides, dilations].flat()) {
    if (step === undefined || step === null || (step as number) > 0) continue;
    throw undefinedResult(kernelName, 'no result, because strides and dilations have to be above 0,');
  }
}

/** Kernels that compute positions in their inputs from attributes. */
const READS_BY_POSITION = /Conv|Pool|Resize|Crop|Dilation/;

function undefinedResult(kernelName: string, what: string): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', `${kernelName}: tfjs gives ${what} for these arguments.`, {
    help: 'Pass integers, axes that exist, and sizes that fit each other.',
  });
}
