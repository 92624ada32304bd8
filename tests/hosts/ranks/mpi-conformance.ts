// The published suite on the engine mpi, with native tensors of all or few element types.
import type { NativeTensor } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge } from '@acc/collective';
import { operator, tensorFrom, type Tensor } from '@acc/native';
import { NATIVE_DTYPES } from '../../e2e/ranks/conformance-dtypes.js';
import { reportResult, runCollectiveCases, type CollectiveSubject } from '@acc/testkit';

const { OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, PMIX_NAMESPACE } = process.env;
const joined = await joinGroup({
  rank: Number(OMPI_COMM_WORLD_RANK),
  size: Number(OMPI_COMM_WORLD_SIZE),
  masterAddress: '127.0.0.1',
  masterPort: 20_000 + (Number(PMIX_NAMESPACE) % 10_000),
  jobToken: PMIX_NAMESPACE!,
  isOneHost: true,
  engine: 'mpi',
  timeoutMs: 240_000,
});
const to = operator('aten::to.dtype');
const reshape = operator('aten::reshape');
const subject: CollectiveSubject<NativeTensor> = {
  collective: new GroupCollective({ joined, bridge: nativeBridge }),
  dtypes: NATIVE_DTYPES[process.argv[2] as 'all' | 'few'],
  make({ values, shape, dtype }) {
    using floats = tensorFrom(values, 'float32', shape);
    return to(floats, dtype);
  },
  view: (x) => reshape(x as Tensor, [-1]),
  read: (x) => ({ values: (x as Tensor).read('float32') as Float32Array, shape: x.shape, dtype: x.dtype }),
  dispose: (x) => x.dispose(),
};
const results = runCollectiveCases(subject);
subject.collective.barrier();
// mpirun splits long lines.
reportResult({
  failed: results.filter(({ outcome }) => outcome === 'failed'),
  passed: results.filter(({ outcome }) => outcome === 'passed').length,
});
subject.collective.close();
