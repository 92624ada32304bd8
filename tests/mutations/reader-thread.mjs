// A thread has no loader for TypeScript of its own.
import { register } from 'tsx/esm/api';

register();
await import('./read-damaged.ts');
