import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"data","description":"","frontmatter":{},"headers":[],"relativePath":"results/data.md","filePath":"bench/results/data.md"}');
const _sfc_main = { name: "results/data.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="data" tabindex="-1">data <a class="header-anchor" href="#data" aria-label="Permalink to &quot;data&quot;">​</a></h1><p>AMD EPYC, 2 cores, 24 GiB, Linux 6.18.44-fc-v657; 2026-11-25; load before the run 0.0. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0, python 3.11.7, torch 2.13.0+cpu, accelerate 1.15.0. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th>data</th><th>batch</th><th>workers</th><th>ours, samples/s</th><th>theirs, samples/s</th><th>ours/theirs</th></tr></thead><tbody><tr><td>MNIST-like, a tensor of all samples</td><td>64</td><td>0</td><td>1,536,317</td><td>279,838</td><td>5.49</td></tr><tr><td>MNIST-like, sample by sample</td><td>64</td><td>0</td><td>271,839</td><td>119,776</td><td>2.27</td></tr><tr><td>JPEGs of 500 × 375, cropped to 224 × 224</td><td>32</td><td>2</td><td>718</td><td>752</td><td>0.96</td></tr><tr><td>the same, decoded by @napi-rs/image</td><td>32</td><td>2</td><td>904</td><td>730</td><td>1.24</td></tr><tr><td>sequences of 1,024 tokens from a file</td><td>16</td><td>0</td><td>536,499</td><td>112,588</td><td>4.76</td></tr></tbody></table><p>Samples per second of an epoch, without a model: the median of the processes, each of which takes the median of its epochs after the warm-up. All cases shuffle. One thread computes on each side; workers are threads of ours and processes of theirs. Images are decoded by sharp and by Pillow, as by torchvision&#39;s ImageFolder, with RandomResizedCrop, a flip and normalisation on both sides.</p><p>Decoding a JPEG of 500 × 375 alone, one after the other, takes these ms of processor time: 2.25 by sharp, 1.98 by @napi-rs/image, 0.96 by Pillow. It is most of the time of these rows. sharp decodes only to the end of the part that is cut out.</p><p>The convnet, batch 64, waits for data in 1.6 % of its step of 49.9 ms (<code>time/data_ms</code> of the monitor; samples one by one from memory, shuffled, in the thread of the loop).</p><p>Repeat it: <code>npm run bench:data -- --repeats 2</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/data.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const data = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  data as default
};
