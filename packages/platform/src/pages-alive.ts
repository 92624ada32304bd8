/** Pages of this origin that were open when files were opened last. */
export const pagesAlive = new Set<number>();

const PREFIX = 'acc-page-';
let isAnnounced = false;

/**
 * Makes other pages know that this one is open, and finds out which others are. A lock is released
 * by the browser when its page ends, however it ends.
 */
export async function announcePage(own: number): Promise<void> {
  const { locks } = navigator as { locks?: LockManager };
  if (!locks) return;
  if (!isAnnounced) {
    isAnnounced = true;
    await new Promise<unknown>((held) => {
      locks
        .request(`${PREFIX}${own}`, () => {
          held(undefined);
          return new Promise(() => {});
        })
        .catch(held);
    });
  }
  // A page that must not use locks, for example in a sandbox, shares its files with no other page.
  const { held = [] } = await locks.query().catch(() => ({ held: [] as LockInfo[] }));
  pagesAlive.clear();
  for (const { name = '' } of held) {
    if (name.startsWith(PREFIX)) pagesAlive.add(Number(name.slice(PREFIX.length)));
  }
}
