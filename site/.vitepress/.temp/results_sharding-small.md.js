import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"sharding-small","description":"","frontmatter":{},"headers":[],"relativePath":"results/sharding-small.md","filePath":"bench/results/sharding-small.md"}');
const _sfc_main = { name: "results/sharding-small.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="sharding-small" tabindex="-1">sharding-small <a class="header-anchor" href="#sharding-small" aria-label="Permalink to &quot;sharding-small&quot;">​</a></h1><p>AMD EPYC, 2 cores, 24 GiB, Linux 6.18.44-fc-v595; 2026-11-24; load before the run 1.9. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0, python 3.11.7, torch 2.13.0+cpu, accelerate 1.15.0. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th></th><th>ms per step</th><th>/ our ddp</th><th>/ fully_shard</th><th>MiB at rest</th><th>MiB at most</th><th>MiB resident at most</th><th>bytes sent / ddp</th></tr></thead><tbody><tr><td>ddp</td><td>522</td><td>1.00</td><td>0.84</td><td>37</td><td>185</td><td>570</td><td>1.00</td></tr><tr><td>stage 1</td><td>525</td><td>1.00</td><td>0.84</td><td>31</td><td>179</td><td>573</td><td>1.00</td></tr><tr><td>stage 2</td><td>519</td><td>0.99</td><td>0.83</td><td>31</td><td>179</td><td>559</td><td>1.00</td></tr><tr><td>stage 3</td><td>531</td><td>1.02</td><td>0.85</td><td>19</td><td>172</td><td>552</td><td>1.29</td></tr><tr><td>PyTorch DDP</td><td>618</td><td>1.18</td><td>0.99</td><td>–</td><td>–</td><td>587</td><td>–</td></tr><tr><td>PyTorch fully_shard</td><td>622</td><td>1.19</td><td>1.00</td><td>–</td><td>–</td><td>601</td><td>–</td></tr></tbody></table><p>GPT, 4 layers, width 256, 4 heads, sequence 128, vocabulary 96, batch 16; 2 ranks of one thread, Adam. Each ran 1 times in new processes, in turn; times are medians of 3 blocks of 5 steps, and ratios are medians of the ratios of the repeats. MiB are those of the rank with the most. At rest and at most are of our allocator, between and during steps: parameters, their shards, optimizer state, gradients, activations and batches. Resident is the largest resident set of a process, with everything that it has loaded. Bytes are those of ring algorithms.</p><p>Repeat it: <code>npm run bench:sharding -- --model small --repeats 1</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/sharding-small.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const shardingSmall = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  shardingSmall as default
};
