/** Pages of this origin that were open when the files were opened. */
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
    await new Promise<void>((held) => {
      void locks.request(`${PREFIX}${own}`, () => {
        held();
        return new Promise(() => {});
      });
    });
  }
  const { held = [] } = await locks.query();
  for (const { name = '' } of held) {
    if (name.startsWith(PREFIX)) pagesAlive.add(Number(name.slice(PREFIX.length)));
  }
}
