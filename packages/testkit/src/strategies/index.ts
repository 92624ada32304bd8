export { strategyCases } from './cases.js';
export { runStrategyCases, strategyContext } from './conformance.js';
export type { StrategyCase, StrategySubject } from './subject.js';
