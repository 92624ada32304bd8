export {
  prometheusTracker as default,
  prometheusTracker,
  type PrometheusOptions,
} from './prometheus-tracker.js';
