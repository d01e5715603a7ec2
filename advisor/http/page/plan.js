// A finding's change in the form of whoever owns the setting: a patch to copy, and the whole plan.

import { Copy } from "./parts.js";
import { html, useState } from "./html.js";

const OWNERS = [
  ["cnf", "option file"], ["percona-ps", "Percona operator (PS)"], ["percona-pxc", "Percona operator (PXC)"],
  ["oracle", "MySQL operator"], ["moco", "MOCO"], ["vitess", "Vitess operator"], ["mariadb-operator", "MariaDB operator"],
  ["bitnami", "Bitnami chart"], ["kubeblocks", "KubeBlocks"], ["terraform", "Terraform"], ["crossplane", "Crossplane"],
  ["ansible", "Ansible"],
];
const CHOICE = "innodb-advisor.plan-for";

/** The last choice. A browser may keep nothing. */
const remembered = () => {
  try {
    const choice = localStorage.getItem(CHOICE);
    return OWNERS.some(([name]) => name === choice) ? choice : OWNERS[0][0];
  } catch {
    return OWNERS[0][0];
  }
};

const remember = (choice) => {
  try {
    localStorage.setItem(CHOICE, choice);
  } catch { /* it is chosen again on the next visit */ }
};

const path = (fingerprint, owner) => `advise/${encodeURIComponent(fingerprint)}/plan?for=${owner}`;

/** The patches of a plan in their order, each below what it is for. */
const patches = async (fingerprint, owner) => {
  const response = await fetch(path(fingerprint, owner), { headers: { Accept: "application/json" } });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.detail ?? `the sidecar answered ${response.status}`);
  const steps = answer.steps.filter(({ patch }) => patch);
  return steps.map(({ do: todo, patch }) => `# ${todo.replace(/\s+/g, " ")}\n# ${patch.file}: ${patch.form}\n${patch.text}`).join("\n");
};

/** "Copy as": the owner, the button, and the plan with steps, limits and the way back. */
export const PlanFor = ({ fingerprint }) => {
  const [owner, setOwner] = useState(remembered);
  const [refusal, setRefusal] = useState(null);
  const choose = ({ target }) => {
    setOwner(target.value);
    setRefusal(null);
    remember(target.value);
  };
  const text = async () => {
    setRefusal(null);
    try {
      return await patches(fingerprint, owner);
    } catch (error) {
      setRefusal(error.message);
      throw error;
    }
  };
  return html`
    <dl class="steps">
      <div class="step">
        <dt><span aria-hidden="true">⇥</span> Copy as</dt>
        <dd class="plan-for">
          <select aria-label="Owner of the setting" value=${owner} onChange=${choose}>
            ${OWNERS.map(([name, words]) => html`<option key=${name} value=${name}>${words}</option>`)}
          </select>
          <${Copy} text=${text} label="the patch for the owner of the setting" />
          <a href=${path(fingerprint, owner)}>plan</a>
          ${refusal && html`<p class="quiet">${refusal}</p>`}
        </dd>
      </div>
    </dl>`;
};
