import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Watchdog } from './watchdog.js';

/** A file system in memory. Other systems than Linux have none. */
const MEMORY = '/dev/shm';

/**
 * Why ranks are ended: to start again without a rank that is lost, to start again with another host,
 * or because the job ends.
 */
export type RoundEnding = 'rescue' | 'save' | 'end';

/**
 * The folder in which the ranks of this host keep their state between two starts of the job. It is
 * in memory, only this user can read it, and it ends with the launcher, however that ends.
 */
export class RescueFolder {
  readonly path: string;
  readonly #watchdog: Watchdog;

  static create(): RescueFolder {
    return new RescueFolder(
      mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), `acc-rescue-${process.pid}-`)),
    );
  }

  private constructor(path: string) {
    this.path = path;
    this.#watchdog = new Watchdog(0, (error) => {
      process.stderr.write(
        `acc: the watchdog does not run: if the launcher is killed with SIGKILL, ${path} stays (${error.message})\n`,
      );
    });
    this.#watchdog.own(path);
  }

  /** Must be called before ranks start. Removes the signs of those before. */
  begin(): void {
    const signs = readdirSync(this.path).filter((name) => /^(ending|holds)-/.test(name));
    for (const name of signs) rmSync(join(this.path, name), { force: true });
  }

  /**
   * Tells ranks why they are ended. Must be called before they get a signal. It needs no memory,
   * because the file is empty: its name tells it.
   */
  announce(ending: RoundEnding): void {
    writeFileSync(join(this.path, `ending-${ending}`), '');
  }

  /** Whether a rank holds a state that it may have to write. */
  isHeldBy(pid: number): boolean {
    return existsSync(join(this.path, `holds-${pid}`));
  }

  /** Must be called when no rank runs. */
  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
    this.#watchdog.close();
  }
}
