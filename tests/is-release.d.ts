import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is `npm run test:release`, in which tests repeat more often. */
    readonly isRelease: boolean;
  }
}
