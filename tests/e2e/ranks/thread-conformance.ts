// Runs the published suite on threads, over native tensors or those of a tfjs backend.
import * as tf from '@tensorflow/tfjs';
import type { NativeTensor } from '@acc/contract';
import { nativeBridge } from '@acc/collective';
import { registerAccBackend } from '@acc/kernels';
import { operator, tensorFrom, type Tensor } from '@acc/native';
import { runCollectiveCases, type CaseResult, type CollectiveSubject } from '@acc/testkit';
import type { ThreadRanks } from '@acc/testkit/threads';

const to = operator('aten::to.dtype');
const reshape = operator('aten::reshape');

function nativeSubject(ranks: ThreadRanks): CollectiveSubject<NativeTensor> {
  return {
    collective: ranks.collectiveOf(nativeBridge),
    dtypes: ['float32', 'float64', 'bfloat16', 'float16', 'int32', 'int64', 'bool'],
    make({ values, shape, dtype }) {
      using floats = tensorFrom(values, 'float32', shape);
      return to(floats, dtype);
    },
    view: (x) => reshape(x as Tensor, [-1]),
    read: (x) => ({
      values: (x as Tensor).read('float32') as Float32Array,
      shape: x.shape,
      dtype: x.dtype,
    }),
    dispose: (x) => x.dispose(),
  };
}

async function tfjsSubject(ranks: ThreadRanks, backend: string): Promise<CollectiveSubject<tf.Tensor>> {
  registerAccBackend();
  await tf.setBackend(backend);
  return {
    collective: ranks.collective,
    dtypes: ['float32', 'int32', 'bool'],
    make: ({ values, shape, dtype }) => tf.tensor(values, [...shape], 'float32').cast(dtype as 'bool'),
    view: (x) => x.reshape([-1]),
    read: (x) => ({
      values: Float32Array.from(x.dataSync()),
      shape: x.shape,
      dtype: x.dtype as 'float32',
    }),
    dispose: (x) => x.dispose(),
  };
}

export default async function conformance(
  tensors: 'native' | 'acc' | 'cpu',
  ranks: ThreadRanks,
): Promise<CaseResult[]> {
  if (tensors === 'native') return runCollectiveCases(nativeSubject(ranks));
  return runCollectiveCases(await tfjsSubject(ranks, tensors));
}
