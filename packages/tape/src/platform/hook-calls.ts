export { HookCalls } from '../gradient-driver/hook-calls.js';
