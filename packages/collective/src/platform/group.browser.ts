import { notInBrowser } from '@acc/platform';
import type * as group from './group.js';

type Group = typeof group;

function refuse(): never {
  throw notInBrowser('A group of several processes needs sockets and libtorch');
}

/** A page is one process. Groups are only made by launched programs. */
export const GroupCollective = class GroupCollective {
  constructor() {
    refuse();
  }
} as unknown as Group['GroupCollective'];
export const coresOfRank: Group['coresOfRank'] = refuse;
export const isLoopback: Group['isLoopback'] = refuse;
export const joinGroup: Group['joinGroup'] = refuse;
