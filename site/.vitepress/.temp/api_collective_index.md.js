import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"@acc/collective","description":"","frontmatter":{"pageClass":"api","editLink":false},"headers":[],"relativePath":"api/collective/index.md","filePath":"api/collective/index.md"}');
const _sfc_main = { name: "api/collective/index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="acccollective" tabindex="-1">@acc/collective <a class="header-anchor" href="#acccollective" aria-label="Permalink to &quot;@acc/collective&quot;">​</a></h1><p>Its <a href="./../../packages/collective.html">README</a> describes the package.</p><table tabindex="0"><thead><tr><th>page</th><th>names</th></tr></thead><tbody><tr><td><a href="./flight.html">Flight</a></td><td><a href="./flight.html#collectiveobserver"><code>CollectiveObserver</code></a>, <a href="./flight.html#observecollectives"><code>observeCollectives</code></a>, <a href="./flight.html#onfault"><code>onFault</code></a></td></tr><tr><td><a href="./general.html">General</a></td><td><a href="./general.html#bridgeof"><code>BridgeOf</code></a>, <a href="./general.html#collectiveontape"><code>collectiveOnTape</code></a>, <a href="./general.html#collectiveoperator"><code>CollectiveOperator</code></a>, <a href="./general.html#coresofrank"><code>coresOfRank</code></a>, <a href="./general.html#datamesh"><code>dataMesh</code></a>, <a href="./general.html#default_patience"><code>DEFAULT_PATIENCE</code></a>, <a href="./general.html#default_timeout_ms"><code>DEFAULT_TIMEOUT_MS</code></a>, <a href="./general.html#groupcollectiveoptions"><code>GroupCollectiveOptions</code></a>, <a href="./general.html#groupengine"><code>GroupEngine</code></a>, <a href="./general.html#isloopback"><code>isLoopback</code></a>, <a href="./general.html#joinedgroup"><code>JoinedGroup</code></a>, <a href="./general.html#joingroup"><code>joinGroup</code></a>, <a href="./general.html#joinoptions"><code>JoinOptions</code></a>, <a href="./general.html#member"><code>Member</code></a>, <a href="./general.html#meshof"><code>meshOf</code></a>, <a href="./general.html#meshsizes"><code>MeshSizes</code></a>, <a href="./general.html#movable"><code>Movable</code></a>, <a href="./general.html#nativebridge"><code>nativeBridge</code></a>, <a href="./general.html#patience"><code>Patience</code></a>, <a href="./general.html#patienceof"><code>patienceOf</code></a>, <a href="./general.html#rankgroup"><code>RankGroup</code></a>, <a href="./general.html#shortest_silence_ms"><code>SHORTEST_SILENCE_MS</code></a></td></tr><tr><td><a href="./group-collective.html">GroupCollective</a></td><td><a href="./group-collective.html#groupcollective"><code>GroupCollective</code></a></td></tr><tr><td><a href="./single-collective.html">SingleCollective</a></td><td><a href="./single-collective.html#singlecollective"><code>SingleCollective</code></a></td></tr></tbody></table></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("api/collective/index.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const index = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  index as default
};
