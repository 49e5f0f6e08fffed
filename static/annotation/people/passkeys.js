// Forms with data-passkey: "create" makes one, "get" asks for one; the options stand in #passkey-options, or come from
// the address of the form. What the browser gives goes into the field "credential", and the form is sent.

const decode = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
const encode = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const withId = (descriptor) => ({ ...descriptor, id: decode(descriptor.id) });

async function optionsOf(form) {
  const here = document.getElementById("passkey-options");
  if (here) return JSON.parse(here.textContent);
  const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(answer.status);
  return answer.json();
}

async function create(form) {
  const { publicKey } = (await optionsOf(form)).creation_options;
  const alone = form.elements.passwordless.checked;
  const made = await navigator.credentials.create({ publicKey: {
    ...publicKey,
    challenge: decode(publicKey.challenge),
    user: { ...publicKey.user, id: decode(publicKey.user.id) },
    excludeCredentials: (publicKey.excludeCredentials ?? []).map(withId),
    authenticatorSelection: {
      ...publicKey.authenticatorSelection,
      residentKey: alone ? "required" : "discouraged",
      requireResidentKey: alone,
      ...(alone && { userVerification: "required" }),
    },
  } });
  return described(made, {
    clientDataJSON: encode(made.response.clientDataJSON),
    attestationObject: encode(made.response.attestationObject),
    transports: made.response.getTransports?.() ?? [],
  });
}

async function get(form) {
  const { publicKey } = (await optionsOf(form)).request_options;
  const found = await navigator.credentials.get({ publicKey: {
    ...publicKey,
    challenge: decode(publicKey.challenge),
    allowCredentials: (publicKey.allowCredentials ?? []).map(withId),
  } });
  const { clientDataJSON, authenticatorData, signature, userHandle } = found.response;
  return described(found, {
    clientDataJSON: encode(clientDataJSON),
    authenticatorData: encode(authenticatorData),
    signature: encode(signature),
    userHandle: userHandle ? encode(userHandle) : null,
  });
}

const described = (credential, response) => ({
  type: credential.type,
  id: credential.id,
  rawId: encode(credential.rawId),
  response,
  clientExtensionResults: credential.getClientExtensionResults(),
});

if (window.PublicKeyCredential) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const problem = form.querySelector("[data-problem]");
    form.hidden = false;
    form.querySelector("button[type=submit]").disabled = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      problem.hidden = true;
      try {
        const made = form.dataset.passkey === "create" ? await create(form) : await get(form);
        form.elements.credential.value = JSON.stringify(made);
        form.submit();
      } catch {
        problem.hidden = false; // refused, run out of time, or no such key
      }
    });
  }
}
