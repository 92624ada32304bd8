import { AccError } from '@acc/contract';

/** The system and the runtime of a launcher. */
export interface Platform {
  readonly platform: string;
  /** `process.versions`. Bun and Deno name themselves in it. */
  readonly versions: Readonly<Record<string, string | undefined>>;
}

/**
 * Requires process groups and Node.js, which ranks need.
 *
 * @throws AccError `ACC_PLATFORM_UNSUPPORTED` on Windows, in Bun and in Deno.
 */
export function requirePlatform({ platform, versions }: Platform): void {
  if (platform === 'win32') {
    throw unsupported(
      'acc launch needs process groups, which Windows does not have.',
      'Run it in the Windows Subsystem for Linux.',
    );
  }
  const runtime = versions['bun'] ? 'Bun' : versions['deno'] ? 'Deno' : undefined;
  if (runtime !== undefined) {
    throw unsupported(
      `acc launch starts its ranks with Node.js, but it was started by ${runtime} ${versions[runtime.toLowerCase()]}.`,
      'Install Node.js 22 or 24, and start the command with it: npx acc launch. A program can still use ' +
        `${runtime} as a single process.`,
    );
  }
}

function unsupported(message: string, help: string): AccError {
  return new AccError('ACC_PLATFORM_UNSUPPORTED', message, { help });
}
