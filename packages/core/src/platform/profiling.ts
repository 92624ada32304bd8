export { Profiler } from '@acc/profile';
