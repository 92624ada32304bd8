export { isLoopback } from '../addresses.js';
export { GroupCollective } from '../group-collective.js';
export { joinGroup } from '../join.js';
export { coresOfRank } from '../share-cores.js';
