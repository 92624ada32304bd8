import type { Collective } from '@acc/contract';
import type * as joinable from './joinable.js';

/** The one process of a page is always among those that have data, so nothing is announced. */
export class Joinable implements Pick<
  joinable.Joinable,
  'collective' | 'isJoining' | 'begin' | 'countActive' | 'shadow' | 'end'
> {
  readonly collective: Collective;
  isJoining = false;

  constructor(group: Collective) {
    this.collective = group;
  }

  begin(): void {
    this.isJoining = true;
  }

  countActive(): number {
    return 1;
  }

  shadow(): number {
    return 0;
  }

  end(): void {
    this.isJoining = false;
  }
}
