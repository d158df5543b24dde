# A formula for a tap. `make release` fills it in.
class Argolint < Formula
  desc "Linter for what Argo CD does rather than for what Git says"
  homepage "@repository@"
  url "@sdist@"
  sha256 "@sdist_sha256@"
  license "Apache-2.0"

  depends_on "libyaml"
  depends_on "python@3.13"

  # What the image installs too. Homebrew's own formulae name each as a resource: `brew update-python-resources argolint`.
  LOCK = <<~REQUIREMENTS.freeze
@resources@
  REQUIREMENTS

  def install
    system "python3.13", "-m", "venv", libexec
    (buildpath/"locked.txt").write LOCK
    system libexec/"bin/pip", "install", "--no-deps", "-r", "locked.txt"
    system libexec/"bin/pip", "install", "--no-deps", buildpath
    bin.install_symlink Dir[libexec/"bin/{argolint,argocd-lint,kubectl-argolint}"]
    man1.install_symlink libexec/"share/man/man1/argolint.1"
    bash_completion.install_symlink libexec/"share/bash-completion/completions/argolint"
    zsh_completion.install_symlink libexec/"share/zsh/site-functions/_argolint"
    fish_completion.install_symlink libexec/"share/fish/vendor_completions.d/argolint.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/argolint --version")
    shell_output("#{bin}/argolint demo --quiet", 1)
  end
end
