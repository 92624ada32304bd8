export { isLoopback } from './addresses.js';
export { GroupCollective, type GroupCollectiveOptions } from './group-collective.js';
export { joinGroup, type JoinedGroup } from './join.js';
export { dataMesh } from './mesh.js';
export { DEFAULT_TIMEOUT_MS, type JoinOptions } from './options.js';
export type { Member } from './rendezvous.js';
export { coresOfRank } from './share-cores.js';
export { SingleCollective } from './single.js';
export { nativeBridge, type BridgeOf, type Movable } from './tensors.js';
