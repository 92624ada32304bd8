import {
  findBackend,
  getKernel,
  getKernelsForBackend,
  util,
  type BackendValues,
  type KernelConfig,
  type KernelFunc,
  type NamedTensorInfoMap,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { MathBackendCPU } from '@tensorflow/tfjs-backend-cpu';
import { refuseRecording } from '@acc/native';
import { BACKEND_NAME } from './acc-names.js';
import type { AccBackend } from './backend.js';

/**
 * Kernels that tfjs's cpu backend has and `native` does not. They run on the cpu backend, on
 * copies: slow but correct, for kernels that training seldom calls.
 */
export function cpuFallbacks(native: ReadonlySet<string>): KernelConfig[] {
  return getKernelsForBackend('cpu')
    .filter(({ kernelName }) => !native.has(kernelName))
    .map(({ kernelName }) => ({
      kernelName,
      backendName: BACKEND_NAME,
      kernelFunc: runOnCpu(kernelName),
    }));
}

/** A result of tfjs's cpu kernel. */
export interface CpuResult {
  readonly shape: readonly number[];
  readonly values: BackendValues;
}

/**
 * Runs tfjs's cpu kernel on copies of the inputs and copies the results back. Borrows the inputs;
 * the caller owns the results.
 *
 * @param check Throws for results that shall not be copied.
 */
export function runOnCpu(kernelName: string, check?: (results: readonly CpuResult[]) => void): KernelFunc {
  return ({ inputs, attrs, backend }) => {
    refuseRecording(`it runs the kernel ${kernelName} on tfjs's cpu backend`);
    const acc = backend as AccBackend;
    const cpu = findBackend('cpu') as MathBackendCPU;
    const created: TensorInfo[] = [];
    try {
      const copies = mapInputs(inputs, (info) => {
        const copy = copyToCpu(acc, cpu, info);
        created.push(copy);
        return copy;
      });
      const { kernelFunc } = getKernel(kernelName, 'cpu');
      const results = kernelFunc({ inputs: copies, backend: cpu, ...(attrs && { attrs }) });
      const list = Array.isArray(results) ? results : [results];
      created.push(...list);
      check?.(list.map(({ dataId, shape }) => ({ shape, values: cpu.readSync(dataId) })));
      const outputs = list.map((info) => copyFromCpu(acc, cpu, info));
      return Array.isArray(results) ? outputs : outputs[0]!;
    } finally {
      for (const info of created) cpu.disposeData(info.dataId);
    }
  };
}

/**
 * Inputs are a record or a list. A value may be missing, or may itself be a list (RaggedGather's
 * splits).
 */
function mapInputs(inputs: NamedTensorInfoMap, copy: (info: TensorInfo) => TensorInfo): NamedTensorInfoMap {
  const copies = (Array.isArray(inputs) ? [] : {}) as Record<string, TensorInfo | TensorInfo[]>;
  for (const [name, input] of Object.entries(inputs as Record<string, TensorInfo | TensorInfo[] | null>)) {
    if (input) copies[name] = Array.isArray(input) ? input.map(copy) : copy(input);
  }
  return copies as NamedTensorInfoMap;
}

function copyToCpu(acc: AccBackend, cpu: MathBackendCPU, info: TensorInfo): TensorInfo {
  const values = acc.readSync(info.dataId);
  const copy =
    info.dtype === 'complex64'
      ? complexOnCpu(cpu, info.shape, values as Float32Array)
      : cpu.makeTensorInfo(info.shape, info.dtype, values);
  // Some kernels (Dilation2DBackpropInput) treat their inputs as tensors and read their rank.
  return Object.assign(copy, { rank: info.shape.length });
}

function complexOnCpu(cpu: MathBackendCPU, shape: number[], interleaved: Float32Array): TensorInfo {
  const part = (offset: number) =>
    cpu.makeTensorInfo(
      shape,
      'float32',
      interleaved.filter((_, i) => i % 2 === offset),
    );
  const [real, imag] = [part(0), part(1)];
  const complex = getKernel('Complex', 'cpu').kernelFunc({ inputs: { real, imag }, backend: cpu });
  cpu.disposeData(real.dataId);
  cpu.disposeData(imag.dataId);
  return complex as TensorInfo;
}

function copyFromCpu(acc: AccBackend, cpu: MathBackendCPU, info: TensorInfo): TensorInfo {
  const values = cpu.readSync(info.dataId);
  if (info.dtype === 'string') return acc.wrapStrings(values, info.shape);
  const size = util.sizeFromShape(info.shape) * (info.dtype === 'complex64' ? 2 : 1);
  const dataId = acc.write((values as BackendValues).slice(0, size) as BackendValues, info.shape, info.dtype);
  return { dataId, shape: info.shape, dtype: info.dtype };
}
