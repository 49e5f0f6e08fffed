// WebGL2: stored values as an R16UI texture, the same display table as a texture, the same weights as resample.js.
// One context draws for all views; the picture is then copied onto the canvas of the view.

const VERTEX = `#version 300 es
void main() { gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0); }`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
uniform usampler2D stored;
uniform sampler2D levels;
uniform ivec2 size;
uniform ivec2 scaled;
uniform ivec2 origin;
uniform int canvasHeight;
uniform bool flip;
uniform ivec2 padding;
out vec4 colour;

void span(int p, int n, int m, out int first, out int last, out float low, out float high) {
  float ratio = float(n) / float(m);
  if (n >= m) {
    low = float(p) * ratio;
    high = float(p + 1) * ratio;
    first = int(floor(low));
    last = min(n, int(ceil(high)));
  } else {
    low = clamp((float(p) + 0.5) * ratio - 0.5, 0.0, float(n - 1));
    high = -1.0;
    first = int(floor(low));
    last = min(n, first + 2);
  }
}

float weight(int i, float low, float high) {
  return high < 0.0 ? 1.0 - abs(float(i) - low) : min(high, float(i + 1)) - max(low, float(i));
}

void main() {
  ivec2 p = ivec2(int(gl_FragCoord.x), canvasHeight - 1 - int(gl_FragCoord.y)) - origin;
  colour = vec4(0.0, 0.0, 0.0, 1.0);
  if (p.x < 0 || p.y < 0 || p.x >= scaled.x || p.y >= scaled.y) return;
  if (flip) p.x = scaled.x - 1 - p.x;
  int x0, x1, y0, y1;
  float xl, xh, yl, yh;
  span(p.x, size.x, scaled.x, x0, x1, xl, xh);
  span(p.y, size.y, scaled.y, y0, y1, yl, yh);
  float sum = 0.0, share = 0.0, total = 0.0;
  for (int y = y0; y < y1; y++) {
    float wy = weight(y, yl, yh);
    for (int x = x0; x < x1; x++) {
      int v = int(texelFetch(stored, ivec2(x, y), 0).r);
      float w = wy * weight(x, xl, xh);
      total += w;
      if (v < padding.x || v > padding.y) { sum += w * float(v); share += w; }
    }
  }
  if (share < 0.5 * total) return;
  int v = int(floor(sum / share + 0.5));
  float level = texelFetch(levels, ivec2(v & 255, v >> 8), 0).r;
  colour = vec4(level, level, level, 1.0);
}`;

/** A software renderer calls itself so; there the Canvas2D path is quicker. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

function newContext(canvas, hardwareOnly) {
  return canvas.getContext("webgl2", {
    alpha: false,
    antialias: false,
    depth: false,
    failIfMajorPerformanceCaveat: hardwareOnly,
    powerPreference: "high-performance",
  });
}

/** True where WebGL2 is drawn by a real graphics processor. */
export function hasGraphicsProcessor() {
  const gl = newContext(document.createElement("canvas"), true);
  if (!gl) return false;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const renderer = gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER) || "";
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !SOFTWARE.test(renderer);
}

export class WebGL2 {
  name = "webgl2";

  /** Raises Error where the browser has no WebGL2; `fallback` paints what does not fit a texture. */
  constructor(fallback) {
    this.fallback = fallback;
    this.canvas = document.createElement("canvas");
    this.gl = newContext(this.canvas, false);
    if (!this.gl) throw new Error("no WebGL2");
    this.textures = new Map();
    this.limit = this.gl.getParameter(this.gl.MAX_TEXTURE_SIZE);
    this.build();
  }

  build() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    this.at = Object.fromEntries(
      ["stored", "levels", "size", "scaled", "origin", "canvasHeight", "flip", "padding"].map((name) => [
        name,
        gl.getUniformLocation(program, name),
      ]),
    );
    this.levels = this.newTexture(1);
    gl.uniform1i(this.at.stored, 0);
    gl.uniform1i(this.at.levels, 1);
  }

  newTexture(unit) {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    return texture;
  }

  paint(pane) {
    const { gl, at } = this;
    const { view, canvas, state } = pane;
    if (gl.isContextLost() || Math.max(view.width, view.height, canvas.width, canvas.height) > this.limit) {
      this.fallback.paint(pane);
      return;
    }
    const g = pane.geometry();
    if (this.canvas.width !== canvas.width) this.canvas.width = canvas.width;
    if (this.canvas.height !== canvas.height) this.canvas.height = canvas.height;
    gl.viewport(0, 0, canvas.width, canvas.height);
    this.bindStored(pane);
    this.bindLevels(pane.levels());
    gl.uniform2i(at.size, view.width, view.height);
    gl.uniform2i(at.scaled, g.width, g.height);
    gl.uniform2i(at.origin, g.left, g.top);
    gl.uniform1i(at.canvasHeight, canvas.height);
    gl.uniform1i(at.flip, state.flip ? 1 : 0);
    gl.uniform2i(at.padding, ...(view.padding ?? [-2, -1]));
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    pane.context.drawImage(this.canvas, 0, 0);
  }

  bindStored({ view, entry }) {
    const { gl } = this;
    const known = this.textures.get(entry);
    gl.activeTexture(gl.TEXTURE0);
    if (known?.data === entry.data) {
      gl.bindTexture(gl.TEXTURE_2D, known.texture);
      return;
    }
    this.release(entry);
    const texture = this.newTexture(0);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    gl.texImage2D(
      gl.TEXTURE_2D, 0, gl.R16UI, view.width, view.height, 0, gl.RED_INTEGER, gl.UNSIGNED_SHORT, entry.data,
    );
    this.textures.set(entry, { texture, data: entry.data });
  }

  bindLevels(table) {
    if (this.table === table) return;
    this.table = table;
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.levels);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, 256, 256, 0, gl.RED, gl.UNSIGNED_BYTE, table);
  }

  release(entry) {
    const known = this.textures.get(entry);
    if (known) this.gl.deleteTexture(known.texture);
    this.textures.delete(entry);
  }

  destroy() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
    this.textures.clear();
  }
}
