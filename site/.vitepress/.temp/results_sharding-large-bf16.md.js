import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"sharding-large-bf16","description":"","frontmatter":{},"headers":[],"relativePath":"results/sharding-large-bf16.md","filePath":"bench/results/sharding-large-bf16.md"}');
const _sfc_main = { name: "results/sharding-large-bf16.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="sharding-large-bf16" tabindex="-1">sharding-large-bf16 <a class="header-anchor" href="#sharding-large-bf16" aria-label="Permalink to &quot;sharding-large-bf16&quot;">​</a></h1><p>AMD EPYC, 2 cores, 24 GiB, Linux 6.18.44-fc-v595; 2026-11-24; load before the run 2.2. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0, python 3.11.7, torch 2.13.0+cpu, accelerate 1.15.0. Device: cpu. Precision: bf16.</p><table tabindex="0"><thead><tr><th></th><th>ms per step</th><th>/ our ddp</th><th>/ fully_shard</th><th>MiB at rest</th><th>MiB at most</th><th>MiB resident at most</th><th>bytes sent / ddp</th></tr></thead><tbody><tr><td>ddp</td><td>1,183</td><td>1.00</td><td>0.56</td><td>1,263</td><td>1,724</td><td>2,213</td><td>1.00</td></tr><tr><td>stage 1</td><td>1,274</td><td>1.08</td><td>0.60</td><td>1,052</td><td>1,436</td><td>2,154</td><td>1.00</td></tr><tr><td>stage 2</td><td>1,351</td><td>1.14</td><td>0.64</td><td>1,052</td><td>1,436</td><td>2,160</td><td>1.00</td></tr><tr><td>stage 3</td><td>1,555</td><td>1.31</td><td>0.73</td><td>631</td><td>1,027</td><td>1,525</td><td>1.44</td></tr><tr><td>PyTorch DDP</td><td>1,857</td><td>1.57</td><td>0.87</td><td>–</td><td>–</td><td>2,771</td><td>–</td></tr><tr><td>PyTorch fully_shard</td><td>2,124</td><td>1.80</td><td>1.00</td><td>–</td><td>–</td><td>2,003</td><td>–</td></tr></tbody></table><p>GPT, 110 M parameters: 12 layers, width 768, 12 heads, sequence 128, vocabulary 16,384, batch 2; 2 ranks of one thread, Adam. Each ran 1 times in new processes, in turn; times are medians of 3 blocks of 2 steps, and ratios are medians of the ratios of the repeats. MiB are those of the rank with the most. At rest and at most are of our allocator, between and during steps: parameters, their shards, optimizer state, gradients, activations and batches. Resident is the largest resident set of a process, with everything that it has loaded. Bytes are those of ring algorithms.</p><p>Repeat it: <code>npm run bench:sharding -- --model large --precision bf16 --repeats 1</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/sharding-large-bf16.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const shardingLargeBf16 = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  shardingLargeBf16 as default
};
