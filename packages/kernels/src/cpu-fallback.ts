import {
  findBackend,
  getKernel,
  getKernelsForBackend,
  util,
  type BackendValues,
  type KernelConfig,
  type NamedTensorInfoMap,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { MathBackendCPU } from '@tensorflow/tfjs-backend-cpu';
import { BACKEND_NAME, type AccBackend } from './backend.js';

/**
 * Kernels that tfjs's cpu backend has and `native` lacks, run there on copies: slow, but right, and for kernels that
 * training seldom calls.
 */
export function cpuFallbacks(native: ReadonlySet<string>): KernelConfig[] {
  return getKernelsForBackend('cpu')
    .filter(({ kernelName }) => !native.has(kernelName))
    .map(({ kernelName }) => fallback(kernelName));
}

function fallback(kernelName: string): KernelConfig {
  return {
    kernelName,
    backendName: BACKEND_NAME,
    kernelFunc: ({ inputs, attrs, backend }) => {
      const acc = backend as AccBackend;
      const cpu = findBackend('cpu') as MathBackendCPU;
      // Kernels such as Concat take an array of inputs.
      const copies = (Array.isArray(inputs) ? [] : {}) as NamedTensorInfoMap;
      for (const [name, info] of Object.entries(inputs)) {
        if (info) copies[name] = copyToCpu(acc, cpu, info);
      }
      const results = getKernel(kernelName, 'cpu').kernelFunc({
        inputs: copies,
        backend: cpu,
        ...(attrs && { attrs }),
      });
      const list = Array.isArray(results) ? results : [results];
      const outputs = list.map((info) => copyFromCpu(acc, cpu, info));
      for (const info of [...list, ...Object.values(copies)]) cpu.disposeData(info!.dataId);
      return Array.isArray(results) ? outputs : outputs[0]!;
    },
  };
}

function copyToCpu(acc: AccBackend, cpu: MathBackendCPU, info: TensorInfo): TensorInfo {
  const values = acc.readSync(info.dataId);
  if (info.dtype !== 'complex64') return cpu.makeTensorInfo(info.shape, info.dtype, values);
  const interleaved = values as Float32Array;
  const real = cpu.makeTensorInfo(
    info.shape,
    'float32',
    interleaved.filter((_, i) => i % 2 === 0),
  );
  const imag = cpu.makeTensorInfo(
    info.shape,
    'float32',
    interleaved.filter((_, i) => i % 2 === 1),
  );
  const complex = getKernel('Complex', 'cpu').kernelFunc({
    inputs: { real, imag },
    backend: cpu,
  }) as TensorInfo;
  cpu.disposeData(real.dataId);
  cpu.disposeData(imag.dataId);
  return complex;
}

function copyFromCpu(acc: AccBackend, cpu: MathBackendCPU, info: TensorInfo): TensorInfo {
  const values = cpu.readSync(info.dataId);
  if (info.dtype === 'string') return acc.wrapStrings(values, info.shape);
  const size = util.sizeFromShape(info.shape) * (info.dtype === 'complex64' ? 2 : 1);
  const dataId = acc.write((values as BackendValues).slice(0, size) as BackendValues, info.shape, info.dtype);
  return { dataId, shape: info.shape, dtype: info.dtype };
}
