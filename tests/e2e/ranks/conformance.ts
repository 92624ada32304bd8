// Runs the published suite in one group after another. The first argument is `all` or `few` element types
// of native tensors. Each other is an engine and a kind of tensors (native, or those of a tfjs backend), for
// example gloo:native. Reports the results by these.
import * as tf from '@tensorflow/tfjs';
import type { EngineChoice, NativeTensor } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge, type JoinedGroup } from '@acc/collective';
import { kernelLayerOf, registerAccBackend } from '@acc/kernels';
import { operator, tensorFrom, type Tensor } from '@acc/native';
import { NATIVE_DTYPES } from './conformance-dtypes.js';
import {
  reportResult,
  runCollectiveCases,
  startedRank,
  type CaseResult,
  type CollectiveSubject,
} from '@acc/testkit';

const [dtypes, ...groups] = process.argv.slice(2) as ['all' | 'few', ...string[]];

const to = operator('aten::to.dtype');
const reshape = operator('aten::reshape');

function nativeSubject(joined: JoinedGroup): CollectiveSubject<NativeTensor> {
  return {
    collective: new GroupCollective({ joined, bridge: nativeBridge }),
    dtypes: NATIVE_DTYPES[dtypes],
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

async function tfjsSubject(joined: JoinedGroup, backend: string): Promise<CollectiveSubject<tf.Tensor>> {
  registerAccBackend();
  await tf.setBackend(backend);
  const bridge = kernelLayerOf(tf.getBackend(), tf.backend());
  return {
    collective: new GroupCollective({ joined, bridge }),
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

const results: Record<string, CaseResult[]> = {};
for (const argument of groups) {
  const [engine, tensors] = argument.split(':') as [EngineChoice, string];
  const joined = await joinGroup({ ...startedRank(), engine, timeoutMs: 240_000 });
  const subject = tensors === 'native' ? nativeSubject(joined) : await tfjsSubject(joined, tensors);
  results[argument] = runCollectiveCases(subject as CollectiveSubject<tf.Tensor>);
  subject.collective.close();
}
reportResult(results);
