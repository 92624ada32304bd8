export { activeAcc } from '../acc-layer/active-acc.js';
