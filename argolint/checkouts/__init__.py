"""Git: repositories, trees and the YAML in them."""
