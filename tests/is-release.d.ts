import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is `npm run test:release`: tests repeat more often then. */
    readonly isRelease: boolean;
  }
}
