import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"How @acc/federated works","description":"","frontmatter":{},"headers":[],"relativePath":"design/federated.md","filePath":"packages/federated/DESIGN.md"}');
const _sfc_main = { name: "design/federated.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="how-accfederated-works" tabindex="-1">How @acc/federated works <a class="header-anchor" href="#how-accfederated-works" aria-label="Permalink to &quot;How @acc/federated works&quot;">​</a></h1><p><a href="./../packages/federated.html">README.md</a> is for users. <a href="./../project/architecture.html">ARCHITECTURE.md</a> has the whole.</p><h2 id="federated-averaging" tabindex="-1">Federated averaging <a class="header-anchor" href="#federated-averaging" aria-label="Permalink to &quot;Federated averaging&quot;">​</a></h2><p><code>federated</code> uses no process group: its clients are pages as well as processes, and any of them may vanish. Each talks to the coordinator alone, over a WebSocket.</p><ul><li><strong>The entry for pages</strong> (<code>src/page.ts</code>, condition <code>browser</code>) reaches <code>client/</code>, <code>protocol/</code>, <code>weights/</code>, <code>contract</code> and the entry <code>@acc/checkpoint/safetensors</code>, none of which imports a module of Node.js. The socket is passed in: the page&#39;s own, or that of <code>ws</code>.</li><li><strong>A message is a safetensors file</strong> (<code>protocol/frame.ts</code>), so that there is one format and one reader of headers. The coordinator sends header and weights as two fragments of one message: all clients share the memory of the weights.</li><li><strong>Vectors, not tensors.</strong> The coordinator holds weights and updates as flat <code>Float32Array</code>s in the order of its model, and sums in float64. Its model gets the result after each round.</li><li><strong>Updates travel, not weights.</strong> The difference to the received weights keeps more digits when it is rounded, and it is what clipping and robust aggregators are defined for.</li><li><strong>Who may be asked</strong> is decided in one place without sockets and clocks (<code>collection.ts</code>). The loop in <code>round-runner.ts</code> looks again after each event, so a deadline is one more event.</li><li><strong>Tickets</strong> tie an update to one client and one round. A late and a repeated update are recognised by them, whatever the connection that they come over.</li></ul></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("design/federated.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const federated = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  federated as default
};
