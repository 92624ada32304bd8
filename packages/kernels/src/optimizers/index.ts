export { fusedApply } from './fused/fused-apply.js';
